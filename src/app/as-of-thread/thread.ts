import { parentPort, workerData } from 'node:worker_threads'
import { type Files, openReadOnly } from '../../adapters/embedded/read-only.ts'
import { asOfReads } from '../../as-of/reads.ts'
import { systemClock } from '../../clock.ts'
import { answerReads } from './answers.ts'
import type { ThreadResponse } from './messages.ts'

/** What the thread is begun with. */
export type AsOfThreadData = Files['paths'] & { readonly key: Uint8Array }

/** The thread that reads the past of an embedded store, on connections of its own. */
const port = parentPort!
const { key, ...paths } = workerData as AsOfThreadData
const { close, ...sources } = await openReadOnly(paths, systemClock, (damaged, error) =>
  port.postMessage({ damaged, error } satisfies ThreadResponse),
)
await answerReads(port, asOfReads({ ...sources, key, atOnce: 8 }))
close()
port.close()
