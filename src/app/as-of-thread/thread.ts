import { parentPort, workerData } from 'node:worker_threads'
import { type Files, openReadOnly } from '../../adapters/embedded/read-only.ts'
import { asOfReads } from '../../as-of/reads.ts'
import { systemClock } from '../../base/clock.ts'
import type { ThreadResponse } from './messages.ts'
import { answerReads } from './messages.ts'

/** Data of the worker thread. */
export type AsOfThreadData = Files['paths'] & { readonly key: Uint8Array }

/** Entry of the thread for past states, which reads an embedded store on its own connections. */
const port = parentPort!
const { key, ...paths } = workerData as AsOfThreadData
const { close, ...sources } = await openReadOnly(paths, systemClock, (damaged, error) =>
  port.postMessage({ damaged, error } satisfies ThreadResponse),
)
await answerReads(port, asOfReads({ ...sources, key, atOnce: 8 }))
close()
port.close()
