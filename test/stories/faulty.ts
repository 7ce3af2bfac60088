import { syncBuiltinESMExports } from 'node:module'
import workers from 'node:worker_threads'

// Loaded before the program (`--import`): causes the fault named by FAULT at SIGUSR2.

const { Worker } = workers
const started: InstanceType<typeof Worker>[] = []

const faults: Readonly<Record<string, () => void>> = {
  rejection: () => void Promise.reject(new Error('a provoked rejection')),
  exception: () => {
    throw new Error('a provoked exception')
  },
  lines: () => {
    process.emitWarning('a provoked warning', 'ExperimentalWarning')
    console.error('a provoked %s', 'line')
  },
  writer: () => void started.map((worker) => worker.terminate()),
}

if (workers.isMainThread) {
  process.on('SIGUSR2', () => faults[process.env['FAULT'] ?? '']?.())
  workers.Worker = new Proxy(Worker, {
    construct: (target, args: ConstructorParameters<typeof Worker>) => {
      const worker = new target(...args)
      started.push(worker)
      return worker
    },
  })
  syncBuiltinESMExports()
}
