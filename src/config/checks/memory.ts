import { getHeapStatistics } from 'node:v8'
import type { Finding } from '../problem.ts'
import type { Config } from '../settings.ts'

const MIB = 1_048_576
/** Memory of the service itself in bytes, with caches and a small history. */
const OWN = 192 * MIB
/** Bytes per token in the index. */
const TOKEN = 90

/** Memory limit of this process in bytes: of its heap, and of its container if it has one. */
const memoryOfProcess = (): number => {
  const container = process.constrainedMemory?.() ?? 0
  const heap = getHeapStatistics().heap_size_limit
  // If the process runs in no container, the system reports no limit, or a nonsensical one.
  return container > 0 ? Math.min(heap, container) : heap
}

/** Warns if the settings together may exceed the memory of the process, `available` bytes. */
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
        `together with tokens.index_size and the service itself may need ${mib(wanted)} MiB, but the process has ${mib(available)} MiB: lower these settings, or raise the memory limit (container, --max-old-space-size)`,
    ],
  ]
}
