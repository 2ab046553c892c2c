"""Loads liblarder_lab.so and declares its functions."""

import ctypes

from larder._history import HistoryOptions
from larder._loading import load, structure

Options = structure(
    "lab_options", "size z  device s  policy i  conf s  seed Q  threads u"
)
Memory = structure(
    "lab_memory",
    """
    size z  host_bytes Q  host_peak Q  context_bytes Q  smi_bytes Q
    reserved_bytes Q  allocated_bytes Q  requested_bytes Q  allocated_peak Q
    reserved_peak Q  device_bytes Q  free_bytes Q  tensors Q
    """,
)
RandomState = structure("lab_random_state", "seed Q  next Q")
Function = structure(
    "lab_function",
    """
    size z  name s  backward p  context p  release p  input_count u
    output_count u  saved_count u  inputs p  outputs p  saved p
    """,
)
Window = structure(
    "lab_window",
    """
    size z  kernel 2q  stride 2q  padding 2q  dilation 2q  output_padding 2q
    groups q  transposed b  counts_padding b  rounds_up b
    """,
)
Rnn = structure(
    "lab_rnn",
    "size z  cell i  backwards b  at q  w_x p  w_h p  b_x p  b_h p  h p  c p  lengths p",
)
RnnGrads = structure(
    "lab_rnn_grads", "size z  x p  w_x p  w_h p  b_x p  b_h p  h p  c p"
)
Frame = structure("larder_frame", "filename 256c  name 256c  line u")
DeviceProperties = structure(
    "larder_device_props",
    """
    size z  total_bytes Q  granularity_bytes Q  context_bytes Q  ordinal i  name 64c
    is_integrated i  export_kind i  uuid 16B  is_exclusive i
    """,
)


PROTOTYPES = """
    larder_version s -              larder_policy_parse i sp
    larder_last_error s -
    larder_empty_cache i p          larder_set_memory_fraction i pd
    larder_memory_fraction i pp     larder_stats_reset_peak i p
    larder_stats_reset_accumulated i p
    larder_memory_summary i pipzp   larder_device_get_props i pp
    larder_history_start i pp       larder_history_mark i ps
    larder_annotate v s             larder_snapshot_write i psp

    lab_options_init_sized v pz     lab_open i pp
    lab_close i p                   lab_last_error s -
    lab_device p p                  lab_allocator p p
    lab_computes b p                lab_memory_init_sized v pz
    lab_memory_get i pp             lab_seed v pQ
    lab_grad_enabled b p            lab_set_grad_enabled b pb
    lab_panel z pspuupz             lab_memory_stats z ppz
    lab_snapshot_json z ppz

    lab_ref p p                     lab_unref v p
    lab_session p p                 lab_dtype_of i p
    lab_place_of i p                lab_ndim i p
    lab_sizes n p                   lab_strides n p
    lab_numel q p                   lab_is_contiguous b p
    lab_address Q p                 lab_storage_bytes Q p
    lab_storage_id Q p              lab_read i ppQ
    lab_write i ppQ                 lab_item i pp
    lab_format z ppz

    lab_empty i piiipp              lab_zeros i piiipp
    lab_ones i piiipp               lab_full i piiipdp
    lab_randn i piiipp              lab_rand i piiipp
    lab_randint i piiipqqp          lab_arange i piidddp
    lab_randperm i pqp

    lab_to i pip                    lab_to_dtype i pip
    lab_clone i pp                  lab_detach i pp
    lab_contiguous i pp             lab_reshape i pipp
    lab_view i pipp                 lab_transpose i piip
    lab_permute i pipp              lab_slice i piqqqp
    lab_select i piqp               lab_expand i pipp
    lab_squeeze i pip               lab_unsqueeze i pip
    lab_chunk i piipp               lab_unbind i pip
    lab_cat i piip                  lab_stack i piip
    lab_index_rows i ppp

    lab_add i ppp                   lab_sub i ppp
    lab_mul i ppp                   lab_div i ppp
    lab_add_scalar i pdp            lab_sub_scalar i pdp
    lab_mul_scalar i pdp            lab_div_scalar i pdp
    lab_rsub_scalar i dpp           lab_rdiv_scalar i dpp
    lab_neg i pp                    lab_exp i pp
    lab_log i pp                    lab_sqrt i pp
    lab_pow_scalar i pdp            lab_relu i pp
    lab_gelu i pp                   lab_tanh i pp
    lab_sigmoid i pp                lab_eq i ppp

    lab_add_inplace i ppd           lab_mul_inplace i pp
    lab_div_inplace i pp            lab_add_scalar_inplace i pd
    lab_mul_scalar_inplace i pd     lab_relu_inplace i p
    lab_addcmul_inplace i pppd      lab_addcdiv_inplace i pppd
    lab_fill_inplace i pd           lab_copy_inplace i pp

    lab_sum i pp                    lab_mean i pp
    lab_sum_dim i pibp              lab_mean_dim i pibp
    lab_argmax i pip                lab_matmul i ppp
    lab_linear i pppp               lab_softmax i pip
    lab_log_softmax i pip           lab_layer_norm i pppdp
    lab_embedding i ppp             lab_attention i pppbp
    lab_conv2d i pppiip             lab_max_pool2d i piip
    lab_dropout i pdbp              lab_cross_entropy i ppp
    lab_mse_loss i ppp

    lab_set_requires_grad i pb      lab_requires_grad b p
    lab_is_leaf b p                 lab_grad p p
    lab_set_grad i pp               lab_retain_grad i p
    lab_grad_fn_name s p            lab_backward i ppb
    lab_checkpoint i ppppp          lab_register_hook i ppppp
    lab_hook_remove v p             lab_hook_leave v p
    lab_move_hooks i pp

    lab_function_record i pp        lab_gradients i ppbpip

    lab_random_state_get v pp       lab_random_state_set v pp
    lab_set_stream Q pQ             lab_stream Q p
    lab_record_stream i pQ          lab_history_start i ppppp
    lab_history_stop i p            larder_history_options_init_sized v pz

    lab_raw_find i s                lab_raw_arity i i
    lab_raw_map i ipddp             lab_raw_map_into i ipddp
    lab_raw_reduce i ipubdp         lab_raw_extreme i pibbpp
    lab_raw_scan i ipip             lab_raw_sort i pibqpp
    lab_raw_gather i pipp           lab_raw_scatter i pippdb
    lab_raw_index i pipip           lab_raw_index_put i pipipb
    lab_raw_nonzero i pp            lab_raw_bincount i ppqp
    lab_raw_multinomial i pqbp      lab_raw_triangle i pqbp
    lab_raw_flip i pup              lab_raw_repeat i pipp
    lab_raw_repeat_backward i pipp  lab_raw_conv2d i ppppp
    lab_raw_conv2d_input i ppppp    lab_raw_conv2d_weight i ppppp
    lab_raw_max_pool2d i pppp       lab_raw_max_pool2d_backward i pppp
    lab_raw_avg_pool2d i ppp        lab_raw_avg_pool2d_backward i pppp
    lab_raw_resize2d i ppbbp        lab_raw_resize2d_backward i ppbbp
    lab_raw_normalize i pqppdppp    lab_raw_normalize_backward i ppqpppbppp
    lab_raw_rnn i pppppp            lab_raw_rnn_backward i pppppppp
"""


# PyDLL keeps the interpreter's lock during a call: most calls take less time than
# releasing it would.
library, _ = load(
    ctypes.PyDLL,
    "liblarder_lab",
    PROTOTYPES,
    "the library of the lab, liblarder_lab.so,",
)
