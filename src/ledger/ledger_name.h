/* ledger_name.h - the name of a ledger's shared memory: version, owner and
 * device.  Private to the ledger. */
#pragma once

#include "ledger/ledger_place.h"

/* Contains the layout's version: another version is another object. */
#define LEDGER_PREFIX "larder-ledger1-"

/* The folder in which the system shows shared memory objects. */
#define LEDGER_FOLDER "/dev/shm"

void larder__ledger_name(const struct ledger_spec *spec,
                         char out[SHARED_NAME_MAX + 1]);

/* An id is the name without its slash. */
bool larder__ledger_id_is_good(const char *id);
/* Set the object's name and group from a valid id. */
void larder__ledger_name_of_id(const char *id, struct shared_object *out);
/* The device that the id names. */
void larder__ledger_uuid_of_id(const char *id, unsigned char out[16]);

bool larder__ledger_exists(const struct shared_object *o);
