/** Admission policies that guard what one object alone cannot: who writes. Imports the group's name only. */
import { orderIdentity } from './orderIdentity.ts';
import type { AdmissionPolicy } from './policy.ts';
import { privilegedProfile } from './privilegedProfile.ts';
import { sandboxOrigin } from './sandboxOrigin.ts';
import { workerFence } from './workerFence.ts';

export { policyManifests, type AdmissionPolicy } from './policy.ts';
export { assignVerb } from './workerFence.ts';

export const policies: readonly AdmissionPolicy[] = [workerFence, orderIdentity, privilegedProfile, sandboxOrigin];
