/* page.h - the page's text, generated from the files in page/ when the command
 * is built. */
#pragma once

extern const unsigned char view_page_html[];
extern const unsigned char view_page_style[];
extern const unsigned char view_page_script[];
extern const char view_page_policy[]; /* permits this style and script */
