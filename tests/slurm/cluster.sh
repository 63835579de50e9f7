#!/usr/bin/env bash
# A Slurm cluster of one node on loopback, for tests: cluster.sh up DIR | down DIR | controller-down DIR | controller-up DIR.
# Needs root and Debian's slurmctld, slurmd, slurm-client, munge; no cgroups, no systemd, no name service, no accounting, two pretended GPUs.
# A job that takes more memory than it asked for is killed. Everything lies in DIR, and SLURM_CONF=DIR/etc/slurm.conf names it to every command.
set -eu
action=$1
R=$(mkdir -p "$2" && cd "$2" && pwd)
M=$R/munge
export SLURM_CONF=$R/etc/slurm.conf

ready() {  # ready SECONDS COMMAND: until COMMAND succeeds
    local tries=$(($1 * 5))
    shift
    for _ in $(seq "$tries"); do "$@" >/dev/null 2>&1 && return 0; sleep .2; done
    echo "$* did not succeed in time:" >&2
    tail -n 5 "$R"/log/*.log "$M"/munged.log >&2 || true
    return 1
}

idle() { sinfo -h -o %T | grep -qx 'idle\|mixed\|allocated'; }

ended() {  # ended PID: it is gone, or dead and waits for a parent that never looks (containers without an init)
    local state
    state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) || true
    case $state in "" | Z* | X*) return 0 ;; *) return 1 ;; esac
}

stop() {  # stop DAEMON
    local pid
    [ -s "$R/$1.pid" ] || return 0
    pid=$(cat "$R/$1.pid")
    kill "$pid" 2>/dev/null || true
    ready 20 ended "$pid"
}

down() {
    for name in slurmd slurmctld munge/munged; do stop "$name"; done
}

free_port() {
    local port
    for port in $(shuf -i 20000-30000 -n 50); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return 0; }
    done
    return 1
}

case $action in
controller-down)
    stop slurmctld ;;
controller-up)
    slurmctld
    ready 20 scontrol ping ;;
down) down ;;
up)
    mkdir -p "$R"/{etc,spool,state,log,dev} "$M"
    chmod 755 "$R" "$M"
    [ -s "$M/munge.key" ] || (umask 077; dd if=/dev/urandom of="$M/munge.key" bs=1024 count=1 2>/dev/null)
    chmod 400 "$M/munge.key"
    for i in 0 1; do ln -sf /dev/null "$R/dev/nvidia$i"; done  # that they are devices is all that is looked at
    host=$(uname -n | cut -d. -f1)
    cat >"$R/etc/slurm.conf" <<C
ClusterName=toy
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
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
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill,UsePss
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=1,sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MinJobAge=${MIN_JOB_AGE:-600}
KillWait=5
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=16000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes=$host Default=YES MaxTime=600 State=UP
C
    echo "NodeName=$host Name=gpu File=$R/dev/nvidia[0-1]" >"$R/etc/gres.conf"
    trap 'down || true' ERR
    munged --force --key-file="$M/munge.key" --socket="$M/munge.socket.2" --pid-file="$M/munged.pid" --log-file="$M/munged.log" --seed-file="$M/munge.seed"
    slurmctld
    ready 20 scontrol ping
    slurmd -N "$host"
    ready 30 idle
    sinfo -N -h -o '%N %T %c cores %m MB %G' ;;
*) echo "cluster.sh up|down|controller-down|controller-up DIR" >&2; exit 2 ;;
esac
