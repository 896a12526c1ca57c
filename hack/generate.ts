// `npm run generate`: writes the files that are made from the protocol.
import { fileURLToPath } from 'node:url';
import { generate } from './generate/index.ts';

const changed = await generate(fileURLToPath(new URL('..', import.meta.url)));
console.log(changed.length === 0 ? 'generated files are up to date' : `wrote ${changed.join(', ')}`);
