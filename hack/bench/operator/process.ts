// hack, bench/operator: measured process, with its CPU time and memory. May import any package.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';

/** Clock ticks of /proc in a second: always this on Linux for the architectures that we know. */
const ticks = 100;
const mib = 2 ** 20;

/** Seconds of CPU that a process has used, from the text of its `/proc/<pid>/stat`. Pure. */
export function cpuSecondsOf(stat: string): number {
  // The name in parentheses may hold anything, also spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

/** MiB that a process holds, from the text of its `/proc/<pid>/status`. Pure. */
export function rssMiBOf(status: string): number {
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / mib;
}

/** Shares of the machine that were used and unused since its start, in seconds over all cores, from the text of `/proc/stat`. Pure. */
export function machineSecondsOf(stat: string): { readonly busy: number; readonly idle: number } {
  const fields = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(' ').map(Number) ?? [];
  // user nice system idle iowait irq softirq steal; what comes after them is in user already.
  const idle = (fields[3] ?? 0) + (fields[4] ?? 0);
  const all = fields.slice(0, 8).reduce((sum, one) => sum + one, 0);
  return { busy: (all - idle) / ticks, idle: idle / ticks };
}

/** A program that is measured. */
export class Measured {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly log: string;

  /** Starts it; its output goes to the file `log`. */
  constructor(
    command: string,
    args: readonly string[],
    { env, log }: { readonly env: Readonly<Record<string, string>>; readonly log: string },
  ) {
    const out = openSync(log, 'a');
    this.child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', out, out] });
    closeSync(out);
    this.log = log;
    if (this.child.pid === undefined) throw new Error(`${command} does not start`);
    this.pid = this.child.pid;
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  async cpuSeconds(): Promise<number> {
    return cpuSecondsOf(await readFile(`/proc/${this.pid}/stat`, 'utf8'));
  }

  async rssMiB(): Promise<number> {
    return rssMiBOf(await readFile(`/proc/${this.pid}/status`, 'utf8'));
  }

  /** Ends it and waits until it is gone; by force after 40 s. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (!this.alive) return;
    const gone = once(this.child, 'exit');
    this.child.kill(signal);
    const force = setTimeout(() => this.child.kill('SIGKILL'), 40_000);
    await gone;
    clearTimeout(force);
  }
}

/** The value of a metric without labels in a page of Prometheus; undefined when it is not there. Pure. */
export function metricOf(page: string, name: string): number | undefined {
  const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(page)?.[1];
  return found === undefined ? undefined : Number(found);
}
