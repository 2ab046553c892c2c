"""Loads liblarder_lab.so and declares its functions."""

import ctypes

from larder._history import HistoryOptions
from larder._loading import load


class Options(ctypes.Structure):
    """lab_options"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("device", ctypes.c_char_p),
        ("policy", ctypes.c_int),
        ("conf", ctypes.c_char_p),
        ("seed", ctypes.c_uint64),
        ("threads", ctypes.c_uint),
    ]


class Memory(ctypes.Structure):
    """lab_memory"""

    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_uint64)
        for name in (
            "host_bytes",
            "host_peak",
            "context_bytes",
            "smi_bytes",
            "reserved_bytes",
            "allocated_bytes",
            "requested_bytes",
            "allocated_peak",
            "reserved_peak",
            "device_bytes",
            "free_bytes",
            "tensors",
        )
    ]


class RandomState(ctypes.Structure):
    """lab_random_state"""

    _fields_ = [("seed", ctypes.c_uint64), ("next", ctypes.c_uint64)]


class Function(ctypes.Structure):
    """lab_function"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("backward", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("input_count", ctypes.c_uint),
        ("output_count", ctypes.c_uint),
        ("saved_count", ctypes.c_uint),
        ("inputs", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p),
        ("saved", ctypes.c_void_p),
    ]


class Window(ctypes.Structure):
    """lab_window"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("kernel", ctypes.c_int64 * 2),
        ("stride", ctypes.c_int64 * 2),
        ("padding", ctypes.c_int64 * 2),
        ("dilation", ctypes.c_int64 * 2),
        ("output_padding", ctypes.c_int64 * 2),
        ("groups", ctypes.c_int64),
        ("transposed", ctypes.c_bool),
        ("counts_padding", ctypes.c_bool),
        ("rounds_up", ctypes.c_bool),
    ]


class Rnn(ctypes.Structure):
    """lab_rnn"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("cell", ctypes.c_int),
        ("backwards", ctypes.c_bool),
        ("at", ctypes.c_int64),
    ] + [
        (name, ctypes.c_void_p) for name in "w_x w_h b_x b_h h c lengths".split()
    ]


class RnnGrads(ctypes.Structure):
    """lab_rnn_grads"""

    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_void_p) for name in "x w_x w_h b_x b_h h c".split()
    ]


class Frame(ctypes.Structure):
    """larder_frame"""

    _fields_ = [
        ("filename", ctypes.c_char * 256),
        ("name", ctypes.c_char * 256),
        ("line", ctypes.c_uint32),
    ]


class DeviceProperties(ctypes.Structure):
    """larder_device_props"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("total_bytes", ctypes.c_uint64),
        ("granularity_bytes", ctypes.c_uint64),
        ("context_bytes", ctypes.c_uint64),
        ("ordinal", ctypes.c_int),
        ("name", ctypes.c_char * 64),
        ("is_integrated", ctypes.c_int),
        ("export_kind", ctypes.c_int),
        ("uuid", ctypes.c_ubyte * 16),
        ("is_exclusive", ctypes.c_int),
    ]


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
