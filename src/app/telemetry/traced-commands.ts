import { inChild, type Tracer } from '../../base/tracing.ts'
import type { Execute } from '../../commands/execute.ts'
import type { View } from '../../projections/views.ts'

/** Gives each command a span with its name and the category of its stream. */
export const tracedExecute =
  (execute: Execute, tracer: Tracer): Execute =>
  (decider, id, name, command, context, known) => {
    const attributes = { 'rollcall.command': name, 'rollcall.category': decider.category }
    return inChild(tracer, `command ${name}`, 'internal', attributes, () =>
      execute(decider, id, name, command, context, known),
    )
  }

/** Waits of a request until a read model has read the log up to a position. */
type Waits = {
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  readonly viewsReached: (view: View, position: bigint, withinMs: number) => Promise<boolean>
}

/** Gives each wait for a read model a span with the position that it waits for. */
export const tracedWaits = <W extends Waits>(waits: W, tracer: Tracer): W => {
  const wait = (model: string, position: bigint, work: () => Promise<boolean>) =>
    inChild(
      tracer,
      'wait for a read model',
      'internal',
      { 'rollcall.read_model': model, 'rollcall.position': String(position) },
      work,
    )
  return {
    ...waits,
    seen: (position: bigint, ms: number) => wait('memory', position, () => waits.seen(position, ms)),
    viewsReached: (view: View, position: bigint, ms: number) =>
      wait(view.name, position, () => waits.viewsReached(view, position, ms)),
  }
}
