import type { Reason } from '@agentfleet/protocol/api';
import type { Rest } from './transition.ts';
import type { Facts } from './facts.ts';

/** The sandbox is given back only on the word of the worker that works under the present epoch. Pure. */
export function restOf({ snapshot, sandbox, atRest }: Facts): Rest {
  if (sandbox === undefined) return snapshot.pods.length === 0 ? 'NoSandbox' : 'Ending';
  if (atRest) return 'Ending';
  return snapshot.assigned?.lost === undefined ? 'Quiescing' : 'Kept';
}

/** Why a suspended task is as it is, for programs and for people. */
export function suspendedBecause(facts: Facts, rest: Rest): { readonly reason: Reason; readonly message: string } {
  const sandbox = facts.sandbox?.metadata.name ?? '';
  const words: Readonly<Record<Rest, readonly [Reason, string]>> = {
    NoSandbox: ['Suspended', `no sandbox is held${storedAt(facts)}`],
    Ending: ['SandboxEnding', `the sandbox is being deleted${storedAt(facts)}`],
    Quiescing: ['Quiescing', `sandbox ${sandbox} stays until the worker reports that all is stored`],
    Kept: [
      'SandboxKept',
      `sandbox ${sandbox} stays, because nobody reported that all is stored (${facts.snapshot.assigned?.lost ?? 'there is no worker'})`,
    ],
  };
  const [reason, what] = words[rest];
  return { reason, message: `spec.suspend is true: ${what}; nothing is done and no clock runs; set it to false to go on` };
}

/** What is known of the place where a task at rest lies, as the end of a sentence. */
export function storedAt({ atRest, status }: Pick<Facts, 'atRest' | 'status'>): string {
  const uri = status.run?.snapshots?.checkpointURI;
  return atRest && uri !== undefined ? `, the checkpoint is ${uri}` : '';
}
