# The table of cards (data/cards/cards.tsv) as C, for devices named `sim:NAME`.

set(cards_table ${PROJECT_SOURCE_DIR}/data/cards/cards.tsv)
set(cards_source ${PROJECT_BINARY_DIR}/sim_card_table.c)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${cards_table})

file(STRINGS ${cards_table} lines REGEX "^[^#]")
set(rows "")
foreach(line ${lines})
    if(line MATCHES "^(nccl|serving)\t")
        continue()
    endif()
    string(REPLACE "\t" ";" fields "${line}")
    list(LENGTH fields count)
    if(NOT count EQUAL 7)
        message(FATAL_ERROR "${cards_table}: '${line}' has ${count} columns")
    endif()
    list(GET fields 0 ids)
    list(GET fields 1 name)
    list(GET fields 2 memory)
    list(GET fields 3 context)
    list(GET fields 4 capability)
    list(GET fields 5 processors)
    string(REPLACE "." " * 100 + " capability "${capability}")
    string(APPEND rows "    {\"${ids}\", \"${name}\", ${memory}, ${context}, "
                       "${capability}, ${processors}},\n")
endforeach()
file(CONFIGURE OUTPUT ${cards_source} @ONLY CONTENT
     "#include \"device/sim_card.h\"\n
const struct sim_card larder__sim_cards[] = {\n@rows@};\n
const size_t larder__sim_card_count =
    sizeof larder__sim_cards / sizeof larder__sim_cards[0];\n")
