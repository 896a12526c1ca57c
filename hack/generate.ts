// `npm run generate`: writes the files that are made from the protocol.
import { fileURLToPath } from 'node:url';
import { generate } from './generate/index.ts';

if (process.argv.length > 2)
  throw new Error(`generate takes no ${process.argv.slice(2).join(' ')}; npm run check fails where a generated file is not up to date`);
const changed = await generate(fileURLToPath(new URL('..', import.meta.url)));
console.log(changed.length === 0 ? 'generated files are up to date' : `wrote ${changed.join(', ')}`);
