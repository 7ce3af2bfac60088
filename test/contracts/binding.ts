import type { Test } from 'tap'
import type { Binding } from '../../src/events/log.ts'

/** Key store that can be reopened, with its binding. */
export type BindingStore = {
  readonly open: () => Promise<{ readonly binding: Binding; readonly close: () => Promise<void> }>
}

/** Contract of Binding. */
export const bindingContract = (t: Test, make: (t: Test) => Promise<BindingStore>): void => {
  void t.test('is absent at first, is written once, and does not change', async (t) => {
    const store = await make(t)
    let { binding, close } = await store.open()
    t.equal(await binding.read(), undefined)
    const [mine, other] = [
      { event: 'a', position: 2n ** 40n },
      { event: 'b', position: 7n },
    ]
    t.strictSame(await binding.write(mine), mine)
    t.strictSame(await binding.write(other), mine, 'who comes later is told what stands')
    t.strictSame(await binding.read(), mine)
    await close()
    ;({ binding, close } = await store.open())
    t.strictSame(await binding.read(), mine, 'after a restart too')
    await close()
  })
}
