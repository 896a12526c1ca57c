import { answersAgain } from '../../eval/src/local/again.ts';

// An endpoint with a key that gives recorded answers. Runs in a pod, bundled into one file. Arguments: folder of recordings, key, port.
const [folder = '', key = '', port = '8080'] = process.argv.slice(2);
void answersAgain(folder, { host: '::', port: Number(port), key });
