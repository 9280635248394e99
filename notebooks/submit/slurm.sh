#!/bin/bash
#SBATCH --job-name={{NAME}} --array=1-{{TASKS}} --requeue --open-mode=append --signal=B:USR1@120
#SBATCH --output={{LOG}} {{OPTIONS}}
export PAPER_JOB={{JOB}} PAPER_TASKS={{TASKS}} JOB_COMPLETION_INDEX=$((SLURM_ARRAY_TASK_ID - 1))
export PAPER_OUT={{OUT}} GOMAXPROCS=$SLURM_CPUS_ON_NODE
unset GONB_PIPE GONB_PIPE_BACK # of the notebook that has submitted this
{{SHELL}} &
task=$!
# TERM, of scancel, is the program's Ctrl-C. USR1 comes before the time limit: then the
# task is queued again, 20 times at most, and goes on with what it has kept.
trap 'kill -TERM $task' TERM
trap 'late=1; kill -TERM $task' USR1
wait $task
status=$?
while kill -0 $task 2>/dev/null; do
	wait $task
	status=$?
done
if [[ -n $late && $status != 0 && ${SLURM_RESTART_COUNT:-0} -lt 20 ]]; then
	scontrol requeue "$SLURM_JOB_ID"
fi
exit $status
