/* exec_report.c - reads the simulated driver's report on a program's
 * devices. */
#include "exec.h"

#include <stdlib.h>

#include <jansson.h>

#include "snapshot/units.h"

static uint64_t exec_report_number(const json_t *line, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(line, name));
}

static void print_calls(const json_t *line, FILE *out)
{
    json_t *calls = json_object_get(line, "calls");
    const char *name;
    json_t *count;
    const char *comma = "";

    fputs("  calls        ", out);
    json_object_foreach(calls, name, count)
    {
        fprintf(out, "%s%s %lld", comma, name,
                (long long)json_integer_value(count));
        comma = ", ";
    }
    fputs(*comma == '\0' ? "none\n" : "\n", out);
}

static void print_device(const json_t *line, FILE *out)
{
    uint64_t failed = exec_report_number(line, "failed_calls");
    uint64_t broken = exec_report_number(line, "broken_rules");
    uint64_t launches = exec_report_number(line, "launches");

    fprintf(out, "Simulated GPU %d, process %ld\n",
            (int)exec_report_number(line, "device"),
            (long)exec_report_number(line, "pid"));
    fprintf(out, "  memory       %s at most, of %s\n",
            units_bytes(exec_report_number(line, "peak_bytes")),
            units_bytes(exec_report_number(line, "capacity_bytes")));
    fprintf(out, "  held at end  %s\n",
            units_bytes(exec_report_number(line, "held_bytes")));
    print_calls(line, out);
    if (launches != 0)
        fprintf(out, "  launches     %llu, kernels and graphs; none ran\n",
                (unsigned long long)launches);
    if (failed != 0)
        fprintf(out, "  failed       %llu calls\n", (unsigned long long)failed);
    fprintf(out, "  driver time  %s, estimated\n",
            units_time(exec_report_number(line, "driver_time_ns")));
    if (broken != 0)
        fprintf(out,
                "  broken rules %llu (LARDER_FAKECUDA_LOG=FILE lists "
                "them)\n",
                (unsigned long long)broken);
}

bool exec_report(const char *path, bool as_json, FILE *out)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    int lines = 0;

    if (f == NULL)
        return false;
    while (getline(&text, &room, f) > 0) {
        json_t *line = as_json ? NULL : json_loads(text, 0, NULL);

        if (as_json)
            fputs(text, out);
        else if (line != NULL)
            print_device(line, out);
        json_decref(line);
        lines++;
    }
    free(text);
    fclose(f);
    if (lines == 0 && !as_json)
        fputs("The program used no simulated GPU, or ended before it could "
              "report.\n",
              out);
    return true;
}
