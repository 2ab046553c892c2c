#!/bin/sh
# check_layers.sh SOURCE - who may include whom, and how files are named.
#
#   include -> <larder/*> and two headers of libc
#   base    -> libc, <larder/*>          core   -> base, ledger,
#   device  -> base                                device/device.h
#   ledger  -> base                      trace  -> <larder/*>, zstd
#   snapshot -> trace, base (pickles,    convert -> snapshot, trace
#               the emitter, UTF-8)
#   json    -> snapshot, trace, jansson  replay  -> trace, snapshot, convert,
#   tune    -> replay and those                     json
#   report  -> snapshot, trace, json     view -> report, snapshot, trace, json
#   cli     -> all of these, ncurses, jansson,
#              the loader
#
# and in the lab, which stands on the public headers:
#
#   lab/include -> <larder/*>            autograd -> tensor, kernels
#   tensor  -> <larder/*>                ops      -> autograd and those
#   kernels -> tensor                    optim    -> tensor, kernels
#   show    -> tensor
#
# and in the adapters, each a library of its own:
#
#   torch, functions -> <larder/*>       preload -> <larder/*>, base, device
#   cudart   -> device (what the driver is)  standins -> libc
#   driver   -> device, base             nvml     -> <larder/*>, device, driver
#
# The rooms of core, from low to high, and whom each includes:
#
#   block, settings  -> nobody           heap    -> block
#   state    -> block, heap, settings    history -> state
#   entry    -> state, history           pools   -> state, entry
#   peers    -> state, history (and the  segments -> state, history, peers,
#               ledger)                               pools
#   observe  -> those of segments, entry, segments
#   request  -> state, entry, peers, pools, segments, observe
#   debug    -> state, history, pools, segments
#   policy_pytorch -> state, pools, segments, observe, request
#   policy_larder  -> settings, state, history, entry, peers, pools, segments,
#                     request, policy_pytorch
#   trim     -> those of segments, entry, segments
#   pause    -> those of segments, entry, segments, debug
#   region   -> state, history, entry, peers, pools, debug, segments,
#               request, policy_pytorch, policy_larder, pause
#   share    -> state, entry, segments
#   api      -> all of these but share
#   pinned   -> state, entry, segments, request, policy_pytorch, api
#
# core has no business with <stdio.h>: it reaches the world through a device.
# <dlfcn.h> is for the names of functions (base), for drivers (device,
# preload), for what other programs bring (torch) and for the loader
# (standins).
# File names are unique, so that "who includes block.h?" has
# one answer; files stay under 600 lines.  Prints each violation; exit 1 if
# there are any.
set -u
cd "$1" || exit 2

includes() {
    # shellcheck disable=SC2016
    find include src lab cli adapters -name '*.[ch]' | LC_ALL=C sort |
        xargs awk '
    BEGIN {
        own["base"] = "base"
        own["device"] = "base device"
        own["ledger"] = "base ledger"
        own["core"] = "base ledger core"
        own["trace"] = "trace"
        own["snapshot"] = "trace snapshot"
        own["json"] = "trace snapshot json"
        own["convert"] = "trace snapshot convert"
        own["replay"] = "trace snapshot json convert replay"
        own["tune"] = "trace snapshot json convert replay tune"
        own["report"] = "trace snapshot json report"
        own["view"] = "trace snapshot json report view"
        own["cli"] = "trace snapshot json convert replay tune report view lab"
        own["tensor"] = "tensor"
        own["kernels"] = "tensor kernels"
        own["autograd"] = "tensor kernels autograd"
        own["ops"] = "tensor kernels autograd ops"
        own["optim"] = "tensor kernels optim"
        own["show"] = "tensor show"
        own["preload"] = "base device"
        own["cudart"] = "device"
        own["driver"] = "base device driver"
        own["nvml"] = "device driver"
        room["block"] = ""
        room["settings"] = ""
        room["heap"] = "block"
        room["state"] = "block heap settings"
        room["history"] = "state"
        room["entry"] = "state history"
        room["pools"] = "state entry"
        room["peers"] = "state history"
        room["segments"] = "state history peers pools"
        room["observe"] = "state history entry pools segments"
        room["request"] = "state entry peers pools segments observe"
        room["debug"] = "state history pools segments"
        room["policy_pytorch"] = "state pools segments observe request"
        room["policy_larder"] = "settings state history entry peers pools " \
                                "segments request policy_pytorch"
        room["trim"] = "state history entry peers pools segments"
        room["pause"] = "state history entry peers pools segments debug"
        room["region"] = "state history entry peers pools debug " \
                         "segments request policy_pytorch policy_larder pause"
        room["share"] = "state entry segments"
        room["api"] = "state history entry pools segments observe request " \
                      "policy_pytorch policy_larder region " \
                      "peers trim pause debug"
        room["pinned"] = "state entry segments request policy_pytorch api"
        third["trace"] = "zstd.h"
        third["json"] = "jansson.h"
        third["replay"] = "jansson.h"
        third["tune"] = "jansson.h"
        third["report"] = "jansson.h"
        third["view"] = "jansson.h"
        third["cli"] = "jansson.h"
    }

    function has(words, word) {
        return index(" " words " ", " " word " ") > 0
    }

    function layer_of(path, part) {
        split(path, part, "/")
        return part[1] ~ "^(src|lab|adapters)$" ? part[2] : part[1]
    }

    # Whether the room of a core file may include the header of another room.
    function room_ok(path, name, part, other) {
        split(path, part, "/")
        split(name, other, "/")
        return part[3] in room &&
               (part[3] == other[2] || has(room[part[3]], other[2]))
    }

    # Whether the layer may include the quoted header.
    function quoted_ok(layer, name, folder) {
        if (index(name, "/") == 0)
            return has("cli torch preload functions cudart standins nvml", layer)
        folder = name
        sub("/.*", "", folder)
        if (layer == "core" && name == "device/device.h")
            return 1
        if (layer == "snapshot" &&
            has("base/pickle.h base/emit.h base/snapshot_words.h base/utf8.h", name))
            return 1
        if (layer == "core" && folder == "core")
            return room_ok(FILENAME, name)
        return has(own[layer], folder)
    }

    function angled_ok(layer, name) {
        if (layer == "include")
            return name ~ "^larder/" ||
                   has("stdbool.h stddef.h stdint.h", name)
        if (layer == "core" && name == "stdio.h")
            return 0
        if (name == "dlfcn.h")
            return has("base device cli torch preload standins nvml", layer)
        if (name ~ "^(zstd|jansson|cmocka|cuda.*|hip/.*)[.]?h?$")
            return has(third[layer], name)
        return 1
    }

    /^[ \t]*#[ \t]*include/ {
        layer = layer_of(FILENAME)
        name = $0
        gsub("^[^<\"]*[<\"]|[>\"][^>\"]*$", "", name)
        quoted = $0 ~ "include[ \t]*\""
        if (quoted ? !quoted_ok(layer, name) : !angled_ok(layer, name)) {
            printf "%s:%d: %s must not include %s\n", FILENAME, FNR, layer,
                   name
            bad = 1
        }
    }
    END { exit bad }'
}

unique_names() {
    # The two sides of the device interface share a name on purpose.
    find include src lab cli adapters -name '*.[ch]' | LC_ALL=C sort | awk '
    {
        name = $0
        sub(".*/", "", name)
        if ($0 == "include/larder/device.h")
            next
        if (name in seen) {
            printf "%s: its name is also that of %s\n", $0, seen[name]
            bad = 1
        }
        seen[name] = $0
    }
    END { exit bad }'
}

short_files() {
    find src lab cli adapters -name '*.[ch]' | LC_ALL=C sort | xargs wc -l | awk '
    $2 != "total" && $1 > 600 {
        printf "%s: %d lines; 600 is the most\n", $2, $1
        bad = 1
    }
    END { exit bad }'
}

status=0
includes || status=1
unique_names || status=1
short_files || status=1
exit $status
