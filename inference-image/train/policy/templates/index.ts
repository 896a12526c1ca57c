/** What the policy classifier learns from: templates that were written for it. */
import type { PolicyLabel } from '@agentfleet/protocol/inference';
import { benign } from './benign.ts';
import { destructive } from './destructive.ts';
import { escape } from './escape.ts';
import { exfiltration } from './exfiltration.ts';
import { persistence } from './persistence.ts';
import { tampering } from './tampering.ts';
import type { Templates } from './template.ts';

export { slots, type Templates } from './template.ts';

export const templates: Readonly<Record<PolicyLabel, Templates>> = {
  Benign: benign,
  Destructive: destructive,
  Exfiltration: exfiltration,
  Escape: escape,
  Persistence: persistence,
  Tampering: tampering,
};
