/** Admission policies: who writes, and the rules of AgentTask.spec. May import `api/base`, `api/crd`, `api/schema` and `api/agenttask`. */
import { agentTask } from '../agenttask/index.ts';
import { orderIdentity } from './orderIdentity.ts';
import type { AdmissionPolicy } from './policy.ts';
import { privilegedProfile } from './privilegedProfile.ts';
import { sandboxOrigin } from './sandboxOrigin.ts';
import { specRules } from './specRules.ts';
import { workerFence } from './workerFence.ts';

export { policyManifests, type AdmissionPolicy } from './policy.ts';
export { specRules } from './specRules.ts';
export { assignVerb } from './workerFence.ts';

export const policies: readonly AdmissionPolicy[] = [workerFence, orderIdentity, privilegedProfile, sandboxOrigin, specRules(agentTask)];
