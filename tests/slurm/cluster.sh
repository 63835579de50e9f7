#!/usr/bin/env bash
# A Slurm cluster of one node on loopback, for tests: cluster.sh up DIR | down DIR | controller-down DIR | controller-up DIR.
# Needs root and Debian's slurmctld, slurmd, slurm-client, munge; no cgroups, no accounting, two pretended GPUs. Everything lies in DIR,
# and SLURM_CONF=DIR/etc/slurm.conf names it to every command.
set -eu
action=$1
R=$(mkdir -p "$2" && cd "$2" && pwd)
M=$R/munge
export SLURM_CONF=$R/etc/slurm.conf

down() {
    for name in slurmd slurmctld munge/munged; do
        [ -s "$R/$name.pid" ] && kill "$(cat "$R/$name.pid")" 2>/dev/null || true
    done
    for _ in $(seq 100); do
        alive=
        for name in slurmd slurmctld munge/munged; do
            [ -s "$R/$name.pid" ] && kill -0 "$(cat "$R/$name.pid")" 2>/dev/null && alive=1 || true
        done
        [ -n "$alive" ] || return 0
        sleep .1
    done
    echo "a daemon of $R did not end" >&2
    return 1
}

ready() {  # ready SECONDS COMMAND: until COMMAND succeeds
    local tries=$(($1 * 5))
    shift
    for _ in $(seq "$tries"); do "$@" >/dev/null 2>&1 && return 0; sleep .2; done
    echo "$* did not succeed in time; logs in $R/log" >&2
    return 1
}

idle() { sinfo -h -o %T | grep -qx 'idle\|mixed\|allocated'; }

case $action in
controller-down)
    pid=$(cat "$R/slurmctld.pid")
    kill "$pid"
    ready 20 sh -c "! kill -0 $pid" ;;
controller-up)
    slurmctld
    ready 20 scontrol ping ;;
down) down ;;
up)
    mkdir -p "$R"/{etc,spool,state,log,dev} "$M"
    chmod 755 "$R" "$M"
    [ -s "$M/munge.key" ] || (umask 077; dd if=/dev/urandom of="$M/munge.key" bs=1024 count=1 2>/dev/null)
    chmod 400 "$M/munge.key"
    for i in 0 1; do [ -c "$R/dev/nvidia$i" ] || mknod "$R/dev/nvidia$i" c 1 3; done
    host=$(hostname -s)
    cat >"$R/etc/slurm.conf" <<C
ClusterName=toy
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$M/munge.socket.2,cred_expire=5
StateSaveLocation=$R/state
SlurmdSpoolDir=$R/spool
SlurmctldPidFile=$R/slurmctld.pid
SlurmdPidFile=$R/slurmd.pid
SlurmctldLogFile=$R/log/slurmctld.log
SlurmdLogFile=$R/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MinJobAge=${MIN_JOB_AGE:-600}
KillWait=5
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=16000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes=$host Default=YES MaxTime=600 State=UP
C
    echo "NodeName=$host Name=gpu File=$R/dev/nvidia[0-1]" >"$R/etc/gres.conf"
    trap 'down || true' ERR
    munged --key-file="$M/munge.key" --socket="$M/munge.socket.2" --pid-file="$M/munged.pid" --log-file="$M/munged.log" --seed-file="$M/munge.seed"
    slurmctld
    ready 20 scontrol ping
    slurmd -N "$host"
    ready 30 idle
    sinfo -N -h -o '%N %T %c cores %m MB %G' ;;
*) echo "cluster.sh up|down|controller-down|controller-up DIR" >&2; exit 2 ;;
esac
