// Runs inside a pod in the worker's place: drives one sandbox through its keeper and proves the undo.
// Reads the keeper's address from its first argument and the token that the kubelet keeps in a file.
import { readFile } from 'node:fs/promises';
import { KeeperClient } from '@agentfleet/keeper/client';
import { breakThings } from './steps/breakThings.ts';
import { auditTrail } from './steps/auditTrail.ts';
import { lookAround } from './steps/lookAround.ts';
import { repair } from './steps/repair.ts';
import { revert } from './steps/revert.ts';
import { Story } from './steps/story.ts';

const [baseUrl = ''] = process.argv.slice(2);
const token = (): Promise<string> => readFile('/var/run/agentfleet/token', 'utf8').then((text) => text.trim());
const story = new Story(new KeeperClient({ baseUrl, token, epoch: 1 }), baseUrl);

await lookAround(story);
const repaired = await repair(story);
await breakThings(story, repaired.fixed);
await revert(story, repaired);
await auditTrail(story);
await story.client.close();
const holds = story.sum();
process.exit(holds ? 0 : 1);
