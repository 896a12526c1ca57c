import { fileURLToPath } from 'node:url';
import type { Layout } from '../base/layout.ts';
import type { Daemon } from './daemon.ts';

/** The program that the watchdog runs. */
export const watchdogScript = fileURLToPath(new URL('watchdog-main.ts', import.meta.url));

const supervisorSource = fileURLToPath(new URL('supervisor.ts', import.meta.url));

/**
 * A process that starts daemons again when they end. kube-router, for example, exits when it cannot fork once, which
 * any fork bomb on the host causes, and without it no NetworkPolicy is enforced for a new pod.
 */
export function watchdog(layout: Layout): Daemon {
  return {
    name: 'watchdog',
    binary: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1', watchdogScript, layout.state],
    inputs: [watchdogScript, supervisorSource],
  };
}

/** The watchdog's memory of an ended daemon. */
export interface Relapse {
  /** Starts in a row that did not last. */
  readonly count: number;
  /** Time of its last start, in milliseconds. */
  readonly at: number;
}

const steadyMs = 30_000;
const longestPauseMs = 30_000;

/**
 * Decides whether to start an ended daemon now, given its history: at once the first time, then after pauses that
 * double from one second to thirty. A run of half a minute resets them.
 */
export function decideRelaunch(before: Relapse | undefined, nowMs: number): { readonly relaunch: boolean; readonly next: Relapse } {
  if (before === undefined || nowMs - before.at > longestPauseMs + steadyMs) return { relaunch: true, next: { count: 1, at: nowMs } };
  const pauseMs = Math.min(longestPauseMs, 1000 * 2 ** (before.count - 1));
  if (nowMs - before.at < pauseMs) return { relaunch: false, next: before };
  return { relaunch: true, next: { count: before.count + 1, at: nowMs } };
}
