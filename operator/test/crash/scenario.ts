// operator, test/crash: type of a crash-test scenario. May import operator, kube and protocol.
import type { ControllerSet } from './life.ts';
import type { World } from './world.ts';

/** A course of things that the operator has to bring to its end, whatever happens to itself. */
export interface Scenario {
  readonly name: string;
  /** Default: the controllers of tasks. */
  readonly controllerSet?: ControllerSet;
  /** More of the pool; null: there is none at first. */
  readonly pool?: Readonly<Record<string, unknown>> | null;
  /** Before writes count: the operator runs, and comes to rest after it. */
  readonly prepare?: (world: World) => Promise<unknown>;
  /** Runs the events, up to the point at which all that was wanted is there. */
  readonly act: (world: World) => Promise<unknown>;
  /** Throws when it is not as it should be. */
  readonly ends: (world: World) => void;
  /** Also crashes at each pair of writes. */
  readonly pairs?: boolean;
}
