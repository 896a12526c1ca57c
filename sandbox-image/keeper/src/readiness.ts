import type { KeeperErrorCode } from '@agentfleet/protocol/keeper';
import { KeeperError } from './failure.ts';
import { isolationFault } from './isolation.ts';
import type { LinkState } from './link/index.ts';

/** What decides whether commands may run. */
export interface ReadinessFacts {
  readonly link: LinkState;
  /** Why the log takes nothing; null while it is whole. */
  readonly logBroken: string | null;
  /** The roots are layers. */
  readonly layered: boolean;
  /** Why the network is not proved closed; null when it is. */
  readonly networkReason: string | null;
  readonly allowUnenforcedNetwork: boolean;
}

export interface NotReady {
  readonly code: KeeperErrorCode;
  readonly reason: string;
}

/** The first reason why no command may run; null when one may. Pure. */
export function notReady(facts: ReadinessFacts): NotReady | null {
  if (facts.logBroken !== null) return { code: 'AF_LOG_BROKEN', reason: `the event log is broken: ${facts.logBroken}` };
  const { connected, info } = facts.link;
  if (!connected || info === null) return { code: 'AF_TOOLS_UNAVAILABLE', reason: 'the tools container is not connected' };
  const fault = isolationFault(info);
  if (fault !== null) return { code: 'AF_TOOLS_UNAVAILABLE', reason: fault };
  if (info.layered !== facts.layered) return { code: 'AF_TOOLS_UNAVAILABLE', reason: 'the tools container does not share the layers' };
  if (facts.networkReason !== null && !facts.allowUnenforcedNetwork)
    return { code: 'AF_NETWORK_NOT_ENFORCED', reason: facts.networkReason };
  return null;
}

/** @throws KeeperError with the first reason */
export function assertReady(facts: ReadinessFacts): void {
  const no = notReady(facts);
  if (no !== null) throw new KeeperError(no.code, no.reason);
}
