import type { EnergyModel } from '@agentfleet/protocol/api';
import type { Deployment, Pod } from '../../runtime/resources.ts';
import type { ServerInfo } from '../../serving/index.ts';
import type { PlanOf, Recorded } from '../../revisions/index.ts';
import type { SnapshotOf } from '../expertpool/snapshot.ts';

type Spec = EnergyModel['spec'];

/** The part of a spec that is served, with the weights of all heads. */
export interface ServedModel {
  readonly artifact: Spec['artifact'];
  readonly lambda: Spec['lambda'];
  readonly heads: NonNullable<Spec['heads']>;
  readonly container?: Spec['resources']['container'];
}

/** One revision of a model. */
export interface ModelArm {
  readonly revision: string;
  readonly served: ServedModel;
  readonly image: string;
}

/** In a snapshot that has one, what serves is that of `serving`. */
export interface ModelPlan extends PlanOf<ModelArm> {
  /** Undefined: pods of no revision serve. */
  readonly serving: ModelArm | undefined;
  /** Pods of no revision. Keep: as `keep` lists. Make: they follow, or serve. */
  readonly plain: 'Keep' | 'Make';
}

/** All that decisions about a model are made from. */
export interface ModelSnapshot extends SnapshotOf<Recorded<ModelArm>> {
  readonly model: EnergyModel;
  /** Image of the pods that score. */
  readonly image: string;
  readonly deployment: Deployment | undefined;
  /** Report of the newest ready pod on itself; undefined while none has reported. */
  readonly info: ServerInfo | undefined;
  /** Deployments of the namespace by their names. */
  readonly deployments?: ReadonlyMap<string, Deployment>;
  /** Pods of each revision. */
  readonly allPods?: ReadonlyMap<string, readonly Pod[]>;
  /** Pods of golden sets. */
  readonly goldenPods?: readonly Pod[];
  /** Report of the newest ready pod of each revision. */
  readonly infos?: ReadonlyMap<string, ServerInfo>;
  /** Undefined: the model has no rollout. */
  readonly plan?: ModelPlan;
  /** Model and image that the spec asks for, where a revision serves. */
  readonly asked?: { readonly model: EnergyModel; readonly image: string };
}
