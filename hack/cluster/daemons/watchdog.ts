import { fileURLToPath } from 'node:url';
import type { Layout } from '../base/layout.ts';
import type { Daemon } from './daemon.ts';

/** The program that the watchdog runs. */
export const watchdogScript = fileURLToPath(new URL('watchdog-main.ts', import.meta.url));

const supervisorSource = fileURLToPath(new URL('supervisor.ts', import.meta.url));

/**
 * A process that starts daemons again when they end. kube-router, for one, gives up for good when it cannot fork once,
 * which any fork bomb on the host brings about, and without it no NetworkPolicy holds for a new pod.
 */
export function watchdog(layout: Layout): Daemon {
  return {
    name: 'watchdog',
    binary: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1', watchdogScript, layout.state],
    inputs: [watchdogScript, supervisorSource],
  };
}

/** What the watchdog remembers about a daemon that ended. */
export interface Relapse {
  /** Starts in a row that did not last. */
  readonly count: number;
  /** When it was started last, in milliseconds. */
  readonly at: number;
}

const steadyMs = 30_000;
const longestPauseMs = 30_000;

/**
 * Whether to start a daemon now that has ended, given how it fared before: at once the first time, then after
 * pauses that double from one second to thirty. A daemon that ran for half a minute starts over.
 */
export function decideRelaunch(before: Relapse | undefined, nowMs: number): { readonly relaunch: boolean; readonly next: Relapse } {
  if (before === undefined || nowMs - before.at > longestPauseMs + steadyMs) return { relaunch: true, next: { count: 1, at: nowMs } };
  const pauseMs = Math.min(longestPauseMs, 1000 * 2 ** (before.count - 1));
  if (nowMs - before.at < pauseMs) return { relaunch: false, next: before };
  return { relaunch: true, next: { count: before.count + 1, at: nowMs } };
}
