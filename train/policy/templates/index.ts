/** Training data of the policy classifier: templates that were written for it. */
import type { PolicyLabel } from '@agentfleet/protocol/inference';
import { benign } from './benign.ts';
import { destructive } from './destructive.ts';
import { escape } from './escape.ts';
import { exfiltration } from './exfiltration.ts';
import { toolFiles } from './files.ts';
import { persistence } from './persistence.ts';
import { platform } from './platform.ts';
import { tampering } from './tampering.ts';
import { toolCommands } from './tools.ts';
import type { Templates } from './template.ts';

export { slots } from './template.ts';

const own: Readonly<Record<PolicyLabel, Templates>> = {
  Benign: benign,
  Destructive: destructive,
  Exfiltration: exfiltration,
  Escape: escape,
  Persistence: persistence,
  Tampering: tampering,
};

const withTools = (label: PolicyLabel): Templates => ({
  commands: [...own[label].commands, ...toolCommands[label], ...platform[label].commands],
  writes: [...own[label].writes, ...toolFiles[label], ...platform[label].writes],
});

/** Those of each class, and those of the tools and files of projects of today. */
export const templates: Readonly<Record<PolicyLabel, Templates>> = {
  Benign: withTools('Benign'),
  Destructive: withTools('Destructive'),
  Exfiltration: withTools('Exfiltration'),
  Escape: withTools('Escape'),
  Persistence: withTools('Persistence'),
  Tampering: withTools('Tampering'),
};
