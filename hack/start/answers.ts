import { answersAgain } from '../../eval/src/local/again.ts';

// The model endpoint of `npm run demo -- --start`: has a key and gives recorded answers. Runs in a pod, bundled into one file. Arguments: folder of recordings, key, port.
const [folder = '', key = '', port = '8080'] = process.argv.slice(2);
void answersAgain(folder, { host: '::', port: Number(port), key });
