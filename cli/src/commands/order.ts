import { isNotFound, ResourceClient, sleep } from '@agentfleet/kube';
import type { AgentTaskOrder, AgentTaskOrderSpec } from '@agentfleet/protocol/api';
import { CliError } from '../failure.ts';
import { agentTaskOrders } from '../resources.ts';
import { printable } from '../text/printable.ts';
import type { CommandContext } from './command.ts';

/** Ms between two looks at an order. */
const pollMs = 250;

/** Who the API server says that we are: an order in another name is refused. */
async function whoAmI({ transport, signal }: CommandContext): Promise<string> {
  const group = 'authentication.k8s.io/v1';
  const body = { apiVersion: group, kind: 'SelfSubjectReview' };
  const answer = await transport.request<{ readonly status?: { readonly userInfo?: { readonly username?: string } } }>({
    method: 'POST',
    path: `/apis/${group}/selfsubjectreviews`,
    body,
    signal,
  });
  const username = answer.status?.userInfo?.username;
  if (username === undefined || username === '')
    throw new CliError('the API server does not say who you are (SelfSubjectReview); log in with a user that has a name');
  return username;
}

/** Gives an order in the caller's own name. */
export async function giveOrder(context: CommandContext, spec: Omit<AgentTaskOrderSpec, 'requester'>): Promise<AgentTaskOrder> {
  const { transport, namespace, signal } = context;
  const requester = await whoAmI(context);
  const metadata = { generateName: `${spec.taskRef.name}-${spec.type.toLowerCase()}-`, namespace };
  const order = { metadata, spec: { ...spec, requester } } as unknown as AgentTaskOrder;
  return new ResourceClient(transport, agentTaskOrders).create(order, { fieldManager: 'fleet', signal });
}

export type OrderState = NonNullable<NonNullable<AgentTaskOrder['status']>['state']>;

/**
 * Waits until the order has one of the states and returns it. Throws a CliError when it is refused, gone, or not that far
 * in time; the order stands then and is done as soon as the operator can.
 */
export async function follow(
  context: CommandContext,
  order: AgentTaskOrder,
  states: readonly OrderState[],
  timeoutSeconds: number,
): Promise<AgentTaskOrder> {
  const { transport, clock, signal } = context;
  const client = new ResourceClient(transport, agentTaskOrders);
  const { name, namespace } = order.metadata;
  const end = clock.monotonic() + timeoutSeconds * 1000;
  for (;;) {
    const found = await client.find({ name, namespace }, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (found === undefined) throw new CliError(`AgentTaskOrder ${name} is gone; its task was deleted, and the order with it`);
    const { state, message = '' } = found.status ?? {};
    if (state === 'Refused') throw new CliError(`AgentTaskOrder ${name} is refused: ${printable(message)}`);
    if (state !== undefined && states.includes(state)) return found;
    if (clock.monotonic() >= end)
      throw new CliError(
        `AgentTaskOrder ${name} is ${state ?? 'not answered'} after ${timeoutSeconds} s; it stands, and the operator acts on it when it runs: kubectl get agenttaskorder ${name} -n ${namespace ?? ''}`,
      );
    if (!(await sleep(clock, pollMs, signal)))
      throw new CliError(`interrupted; AgentTaskOrder ${name} stands, delete it if that is not what you want`);
  }
}
