# embed_page.cmake - run with -P: writes OUT, C source with the text of the
# viewer's page.  PAGE is the page's folder.
#
# The page's policy names its style and script by their hashes, so that nothing
# else runs in it, whatever a snapshot calls its files and functions.

set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

# The 64 hexadecimal digits of a hash as base64.
function(base64_of hex out)
    set(text "")
    string(APPEND hex "0000")
    foreach(at RANGE 0 60 6)
        string(SUBSTRING "${hex}" ${at} 6 triple)
        foreach(shift 18 12 6 0)
            math(EXPR digit "(0x${triple} >> ${shift}) & 63")
            string(SUBSTRING "${digits}" ${digit} 1 digit)
            string(APPEND text "${digit}")
        endforeach()
    endforeach()
    string(SUBSTRING "${text}" 0 43 text)
    set(${out} "${text}=" PARENT_SCOPE)
endfunction()

# NAME as an array of C, and its hash, of the files joined.
function(text_of name out hash)
    set(joined "")
    foreach(file ${ARGN})
        file(READ ${PAGE}/${file} text)
        string(APPEND joined "${text}")
    endforeach()
    file(WRITE ${OUT}.part "${joined}")
    file(SHA256 ${OUT}.part hex)
    base64_of(${hex} base64)
    file(READ ${OUT}.part hex HEX)
    file(REMOVE ${OUT}.part)
    string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
    set(${out} "const unsigned char ${name}[] = {${hex}0};\n" PARENT_SCOPE)
    set(${hash} "'sha256-${base64}'" PARENT_SCOPE)
endfunction()

function(policy_of name out script style)
    set(${out} "const char ${name}[] = \"default-src 'none'; \"
    \"script-src ${script}; style-src ${style}; \"
    \"base-uri 'none'; form-action 'none'\";\n" PARENT_SCOPE)
endfunction()

# The order in which the scripts are joined.
set(scripts element.js basics.js state.js units.js frames.js lengths.js device.js groups.js axis.js bands.js
    timeline.js map.js find.js calltree.js flame.js treerows.js span.js
    panels.js pointers.js draw.js keys.js decode.js main.js)

text_of(view_page_html html ignored page.html)
text_of(view_page_style style style_hash style.css)
text_of(view_page_script script script_hash ${scripts})
policy_of(view_page_policy policy ${script_hash} ${style_hash})
file(WRITE ${OUT} "#include \"view/page.h\"\n\n"
     "${html}${style}${script}${policy}")
