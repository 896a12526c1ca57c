/**
 * A typed client of AgentTasks: create, follow, decide, fetch results, with the caller's own permission. Public types
 * are in `public.ts` and in `types.ts`, which `npm run generate` makes from the protocol, so that importers of the
 * package need nothing else. May import `protocol` and `kube`.
 */
export { connect, type ConnectOptions } from './connect.ts';
export { FleetError, type FleetErrorCode } from './errors.ts';
export type * from './public.ts';
export type {
  AgentTask,
  AgentTaskOrder,
  AgentTaskOrderSpec,
  AgentTaskOrderStatus,
  AgentTaskSpec,
  AgentTaskStatus,
  ObjectMeta,
} from './types.ts';
