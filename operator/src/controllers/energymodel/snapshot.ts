import type { RolloutReport } from '../../revisions/index.ts';
import type { EnergyModel } from '@agentfleet/protocol/api';
import type { NamedPolicy, ShadowView } from '../../revisions/index.ts';
import type { Deployment, Pod } from '../../runtime/resources.ts';
import type { ClusterAccess, ServerInfo } from '../../serving/index.ts';
import type { Child } from '../expertpool/children.ts';

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

/** A revision on record, and the number of its record. */
export interface RecordedModel extends ModelArm {
  readonly number: number;
}

/** Result of a rollout for a model: in a snapshot that has one, what serves is that of `serving`. */
export interface ModelPlan {
  /** Undefined: the model has no rollout any more, and what is left of the last one ends. */
  readonly status: RolloutReport | undefined;
  /** Undefined: pods of no revision serve. */
  readonly serving: ModelArm | undefined;
  /** All revisions that have pods, that of stable first. */
  readonly arms: readonly ModelArm[];
  /** The revision that is to be put on record; undefined when it is. */
  readonly record: RecordedModel | undefined;
  /** Pods of no revision. Keep: as `keep` lists. Make: they follow, or serve. */
  readonly plain: 'Keep' | 'Make';
  /** Children that stay although no desired state asks for them, as `group/plural/name`. */
  readonly keep: readonly string[];
  /** Ms after which time alone may change it. */
  readonly againMs: number;
  /** Results of copies; undefined: nothing is in shadow. */
  readonly shadow?: ShadowView | undefined;
}

/** All that decisions about a model are made from, as the caches showed it at one moment. */
export interface ModelSnapshot {
  readonly model: EnergyModel;
  /** Image of the pods that score. */
  readonly image: string;
  /** Namespace of the operator, which the pods hear. */
  readonly operatorNamespace: string;
  /** Data that servers check tokens by. */
  readonly access: ClusterAccess;
  /** Of the Prometheus that servers let in. */
  readonly prometheusNamespace?: string | undefined;
  /** Everything in the namespace of the model that has its label or a name that it wants. */
  readonly children: readonly Child[];
  readonly deployment: Deployment | undefined;
  readonly pods: readonly Pod[];
  /** Events of the kubelet about pods that it prepares, by their names. */
  readonly notes: ReadonlyMap<string, string>;
  /** Report of the newest ready pod on itself; undefined while none has reported. */
  readonly info: ServerInfo | undefined;
  /** Revisions on record by their names. */
  readonly recorded?: ReadonlyMap<string, RecordedModel>;
  /** Deployments of the namespace by their names. */
  readonly deployments?: ReadonlyMap<string, Deployment>;
  /** Pods of each revision. */
  readonly allPods?: ReadonlyMap<string, readonly Pod[]>;
  /** Pods of golden sets. */
  readonly goldenPods?: readonly Pod[];
  /** Report of the newest ready pod of each revision. */
  readonly infos?: ReadonlyMap<string, ServerInfo>;
  /** The policy that spec.rolloutPolicyRef names; undefined: pods are replaced at once. */
  readonly policy?: NamedPolicy | undefined;
  /** Undefined: the model has no rollout. */
  readonly plan?: ModelPlan;
  /** Model and image that the spec asks for, where a revision serves. */
  readonly asked?: { readonly model: EnergyModel; readonly image: string };
}
