import type { Workspace } from '@agentfleet/protocol/api';
import type { Clock } from '@agentfleet/kube';
import type { LocalProxy } from '../../egress/index.ts';

/** For servers that ask for a user; sent to the repository's own host only. */
export interface GitCredential {
  readonly username: string;
  readonly password: string;
  /** It is for some repositories of the host alone. */
  readonly isBound?: boolean;
}

export interface GitSettings {
  readonly program: string;
  /** Folder of this import alone. */
  readonly scratch: string;
  /** All connections go through it; it judges their destinations. */
  readonly proxy: Pick<LocalProxy, 'url' | 'takeFault'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly limitBytes: number;
  readonly timeoutMs: number;
  readonly authorities?: string;
  readonly credential?: GitCredential;
}

export type GitSource = Extract<Workspace, { type: 'Git' }>['git'];
