// The process of an engine image in tests: takes the command line of `vllm serve`, and answers and forgets as it does.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process, { argv, env, exit, stderr, stdout } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandLineError, readCommandLine, type EngineCommand } from './commandLine.ts';
import { FakeEngine, type GpuMemory } from './engine.ts';

/** Devices that a driver gave to this container by its environment. */
function devices(): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => (/^GPU_DEVICE_\d+$/.test(name) && value !== undefined ? [value] : []));
}

/** Returns what an engine lacks for a start. */
function lackOf({ model }: EngineCommand): string | undefined {
  if (devices().length === 0) return 'Failed to infer device type';
  if (!existsSync(join(model, 'config.json'))) return `there is no config.json in ${model}`;
  return readdirSync(model).some((name) => name.endsWith('.safetensors')) ? undefined : `there are no weights in ${model}`;
}

/** Settings of a test for an engine by `--additional-config`. */
interface Stage {
  /** Time that loading takes, ms. */
  readonly loadMs?: number;
  readonly answerMs?: number;
}

/** Memory that logs when it is taken and freed: the logs of several engines show which had the GPU when. */
function recorded(reported: boolean): GpuMemory {
  let held = false;
  const tell = (gpu: 'taken' | 'freed'): void => {
    if (reported && held !== (gpu === 'taken')) stdout.write(`${JSON.stringify({ gpu, at: Date.now() })}\n`);
    held = gpu === 'taken';
  };
  return {
    take: () => {
      tell('taken');
      return Promise.resolve(true);
    },
    free: () => {
      tell('freed');
      return Promise.resolve();
    },
  };
}

async function main(): Promise<void> {
  const command = readCommandLine(argv.slice(2));
  const lack = lackOf(command);
  if (lack !== undefined) throw new CommandLineError(lack);
  const { flags } = command;
  const [name = command.model, ...aliases] = flags.get('--served-model-name') ?? [];
  const { loadMs = 0, answerMs } = JSON.parse(flags.get('--additional-config')?.[0] ?? '{}') as Stage;
  const canSleep = flags.has('--enable-sleep-mode') && env['VLLM_SERVER_DEV_MODE'] === '1';
  const memory = recorded(canSleep);
  const engine = new FakeEngine(name, {
    aliases,
    sleeps: canSleep,
    hasAdapter: (folder) => existsSync(join(folder, 'adapter_config.json')),
    gpu: memory,
    onNoRoom: () => exit(1),
    ...(answerMs !== undefined && { answerMs }),
  });
  engine.adapters = flags.has('--enable-lora') && env['VLLM_ALLOW_RUNTIME_LORA_UPDATING'] === '1';
  process.on('SIGTERM', () => void engine.stop().then(() => exit(0)));
  if (!(await memory.take(name))) throw new Error('CUDA out of memory');
  await delay(loadMs);
  await engine.start(Number(flags.get('--port')?.[0] ?? 8000), flags.get('--host')?.[0] ?? '0.0.0.0');
  stdout.write(`${JSON.stringify({ devices: devices(), argv: argv.slice(2) })}\n`);
}

try {
  await main();
} catch (error) {
  stderr.write(`${error instanceof CommandLineError ? error.message : String(error)}\n`);
  exit(2);
}
