/** The rails, one per file. They judge simple commands and may import `shell/` and `verdict/`. */
import { catastrophicDelete } from './catastrophicDelete.ts';
import { escape } from './escape.ts';
import { exfil } from './exfil.ts';
import { fetchToExec } from './fetchToExec.ts';
import { forgedRecords } from './forgedRecords.ts';
import { historyRewriting } from './historyRewriting.ts';
import { network } from './network.ts';
import { obfuscation } from './obfuscation.ts';
import { pathPolicy } from './pathPolicy.ts';
import { persistence } from './persistence.ts';
import { privilege } from './privilege.ts';
import { processKill } from './processKill.ts';
import type { Rail } from './rail.ts';
import { rawDisk } from './rawDisk.ts';
import { resource } from './resource.ts';
import { reversibleChange } from './reversibleChange.ts';
import { secrets } from './secrets.ts';
import { services } from './services.ts';
import { testTampering } from './testTampering.ts';
import { unresolved } from './unresolved.ts';

export const rails: readonly Rail[] = [
  fetchToExec,
  rawDisk,
  catastrophicDelete,
  privilege,
  escape,
  persistence,
  secrets,
  exfil,
  historyRewriting,
  testTampering,
  forgedRecords,
  services,
  resource,
  processKill,
  obfuscation,
  network,
  pathPolicy,
  reversibleChange,
  unresolved,
];
