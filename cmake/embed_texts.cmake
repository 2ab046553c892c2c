# embed_texts.cmake - run with -P: writes OUT, C source with the text of each file
# of FOLDER that NAMES lists, as an array named PREFIX_NAME; HEADER declares them.

set(joined "#include \"${HEADER}\"\n")
foreach(name ${NAMES})
    file(READ ${FOLDER}/${name} text HEX)
    string(REGEX REPLACE "(..)" "0x\\1," text "${text}")
    string(REPLACE "." "_" array ${name})
    string(REGEX REPLACE "^page" ${PREFIX} array ${array})
    string(APPEND joined "\nconst unsigned char ${array}[] = {${text}0};\n")
endforeach()
file(WRITE ${OUT} "${joined}")
