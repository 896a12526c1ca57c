import { leases, ResourceClient, type Lease } from '@agentfleet/kube';
import { ageOf } from '../text/format.ts';
import type { CommandContext } from './command.ts';

/** The Lease that the operator's leader renews. */
const operatorLease = 'agentfleet-operator';

/** Time between two leaders, and between the clock of this machine and those of the cluster, ms. */
const slackMs = 60_000;

/** Returns the Leases of all operators of the cluster. */
export async function operatorLeases({ transport, signal }: Pick<CommandContext, 'transport' | 'signal'>): Promise<readonly Lease[]> {
  return new ResourceClient(transport, leases).list({ fieldSelector: `metadata.name=${operatorLease}`, signal });
}

/** Returns the time until which a Lease is held unless it is renewed, ms since the epoch; NaN where it never was. Pure. */
export function heldUntil({ spec: { renewTime, leaseDurationSeconds = 0 } = {} }: Lease): number {
  return Date.parse(renewTime ?? '') + leaseDurationSeconds * 1000;
}

/**
 * Returns a line about an operator that does not run, with the cure; undefined where one runs, where none elects a leader, and where the
 * caller may not see. Which of several operators is in charge of a namespace is not known here: one that runs is enough.
 */
export async function idleOperator(context: CommandContext): Promise<string | undefined> {
  const now = context.clock.now();
  // It stands beside what was asked for, and ends no command.
  const found = await operatorLeases(context).catch((): readonly Lease[] => []);
  const [last] = found.toSorted((a, b) => heldUntil(b) - heldUntil(a));
  if (last === undefined || !(heldUntil(last) + slackMs < now)) return undefined;
  const { namespace = '' } = last.metadata;
  return `no operator runs: the Lease ${operatorLease} of namespace ${namespace} was renewed ${ageOf(last.spec?.renewTime, now)} ago, and tasks are as they were then; cure: kubectl -n ${namespace} get pods shows why, "fleet doctor" the rest`;
}
