#!/bin/sh
# Load from four machines of a Slurm cluster: an array job, whose tasks know their numbers.
#
#     stackmark run SUBJECT --db … --write-plan plan.json
#     sbatch --export=ALL,START="$(date -u -d '+120 seconds' +%FT%TZ)" slurm.sh
#     stackmark merge parts/PLAN-part-*                         # when the array has ended; PLAN is the `id` in plan.json
#
# STACKMARK_DB has the address of the database; plan.json and parts are in the folder of the job, which all machines share.
#SBATCH --job-name=stackmark
#SBATCH --array=1-4
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --no-requeue
#SBATCH --time=15

exec stackmark run --plan plan.json --part "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --start-at "${START:?when calls begin, such as 2026-11-29T10:00:00Z}" --out parts
