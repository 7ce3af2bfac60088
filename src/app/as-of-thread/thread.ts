import { parentPort, workerData } from 'node:worker_threads'
import { type Files, openReadOnly } from '../../adapters/embedded/read-only.ts'
import { systemClock } from '../../clock.ts'
import { pastReads } from '../../as-of/reads.ts'
import { answerPast } from './answers.ts'
import type { Heard } from './messages.ts'

/** What the thread is begun with. */
export type PastThreadData = Files['paths'] & { readonly key: Uint8Array }

/** The thread that reads the past of an embedded store, on connections of its own. */
const port = parentPort!
const { key, ...paths } = workerData as PastThreadData
const { close, ...sources } = await openReadOnly(paths, systemClock, (damaged, error) =>
  port.postMessage({ damaged, error } satisfies Heard),
)
await answerPast(port, pastReads({ ...sources, key, atOnce: 8 }))
close()
port.close()
