import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveScripts, type Script } from '../programs/model.ts';

/** The provider of agent programs: answers by the scripts of a folder. Runs in a pod, bundled into one file. Arguments: folder, key. */
const [folder = '', key = ''] = process.argv.slice(2);
const scripts = JSON.parse(readFileSync(join(folder, 'scripts.json'), 'utf8')) as readonly Script[];
void serveScripts(scripts, { key, host: '::', port: 8080 });
