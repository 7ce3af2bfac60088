import { getHeapStatistics } from 'node:v8'
import type { Finding } from './problem.ts'
import type { Config } from './settings.ts'

const MIB = 1_048_576
/** What the service takes itself, with caches and a small history. */
const OWN = 192 * MIB
/** Bytes of a token in the index. */
const TOKEN = 90

/** Bytes that this process may have: the limit of its heap, and that of its container where it has one. */
const memoryOfProcess = (): number => {
  const container = process.constrainedMemory?.() ?? 0
  const heap = getHeapStatistics().heap_size_limit
  // Without a container the system tells no limit, or one that no machine has.
  return container > 0 ? Math.min(heap, container) : heap
}

/** Tells when what the settings allow together may be more than the memory of the process, in bytes. */
export const memoryWarnings = (
  { budgets: { answers, bodies }, tokens }: Pick<Config, 'budgets' | 'tokens'>,
  available = memoryOfProcess(),
): readonly Finding[] => {
  const wanted = OWN + answers + bodies + tokens.index_size * TOKEN
  const mib = (bytes: number) => Math.round(bytes / MIB)
  return [
    [
      'budgets',
      wanted > available &&
        `answers and bodies and the tokens of tokens.index_size may come to ${mib(wanted)} MiB with what the service takes itself; the process may have ${mib(available)} MiB. Lower them, or give it more memory (container, --max-old-space-size)`,
    ],
  ]
}
