/* top_page.h - the page of `larder top --serve`: the files of cli/top_page,
 * generated when the command is built. */
#pragma once

extern const unsigned char top_page_html[];
extern const unsigned char top_page_css[];
extern const unsigned char top_page_js[];
