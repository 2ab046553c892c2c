/* prompt_compound.h - the interface between compound and simple statements in
 * the parser. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_COMPOUND_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_COMPOUND_H

#include "prompt_parser.h"

/* As in the rest of the parser, NULL means that the error is set.  Each begins
 * at its keyword. */
struct prompt_node *prompt_parse_if(struct prompt_parser *p);
struct prompt_node *prompt_parse_while(struct prompt_parser *p);
struct prompt_node *prompt_parse_def(struct prompt_parser *p);
struct prompt_node *prompt_parse_return(struct prompt_parser *p);
struct prompt_node *prompt_parse_leave(struct prompt_parser *p);

/* A ':' and the body after or below it. */
struct prompt_node *prompt_parse_body(struct prompt_parser *p);
struct prompt_node *prompt_parse_loop_body(struct prompt_parser *p);
/* One value, or several separated by commas as a tuple. */
struct prompt_node *prompt_parse_values(struct prompt_parser *p);
/* Whether the statement ends here. */
bool prompt_parse_ends(const struct prompt_parser *p);

#endif
