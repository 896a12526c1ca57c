import type { EnergyModel } from '@agentfleet/protocol/api';
import type { Deployment, Pod } from '../../runtime/objects.ts';
import type { ServerInfo } from '../../serving/index.ts';
import type { Child } from '../expertpool/children.ts';

/** All that decisions about a model are made from, as the caches showed it at one moment. */
export interface ModelSnapshot {
  readonly model: EnergyModel;
  /** Image of the pods that score. */
  readonly image: string;
  /** Namespace of the operator, which the pods hear. */
  readonly operatorNamespace: string;
  /** Everything in the namespace of the model that has its label or a name that it wants. */
  readonly children: readonly Child[];
  readonly deployment: Deployment | undefined;
  readonly pods: readonly Pod[];
  /** What the kubelet says about pods that it prepares, by their names. */
  readonly notes: ReadonlyMap<string, string>;
  /** What the newest ready pod tells of itself; undefined while none has told. */
  readonly info: ServerInfo | undefined;
}
