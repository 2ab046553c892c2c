# embed_page.cmake - run with -P: writes OUT, C source with the text of the
# viewer's page.  PAGE is the folder it lies in.

function(text_of name out)
    set(hex "")
    foreach(file ${ARGN})
        file(READ ${PAGE}/${file} bytes HEX)
        string(APPEND hex "${bytes}")
    endforeach()
    string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
    set(${out} "const unsigned char ${name}[] = {${hex}0};\n" PARENT_SCOPE)
endfunction()

# The order in which the scripts are joined.
set(scripts data.js groups.js timeline.js map.js find.js panels.js
    pointers.js main.js)

text_of(view_page_html html page.html)
text_of(view_page_style style style.css)
text_of(view_page_script script ${scripts})
file(WRITE ${OUT} "#include \"view/page.h\"\n\n${html}${style}${script}")
