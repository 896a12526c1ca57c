// protocol, api: list of all kinds of the API group. May import the folders of api and the layers below it.
import { agentTask } from './agenttask/index.ts';
import { agentTaskOrder } from './agenttaskorder/index.ts';
import type { Kind } from './crd/definition.ts';
import { energyModel } from './energymodel/index.ts';
import { expertPool } from './expertpool/index.ts';
import { expertScale } from './expertscale/index.ts';
import { poolGrant } from './poolgrant/index.ts';
import { rolloutPolicy } from './rollout/index.ts';

/** All kinds of the group. */
export const kinds = [
  agentTask,
  agentTaskOrder,
  expertPool,
  energyModel,
  rolloutPolicy,
  poolGrant,
  expertScale,
] as const satisfies readonly Kind[];
