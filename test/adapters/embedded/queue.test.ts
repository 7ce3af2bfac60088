import t from 'tap'
import { queueContract } from '../../contracts/queue.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { portOf } from './store.ts'

void t.test('the embedded job queue passes the shared tests of every queue', async (t) =>
  queueContract(t, async (t) => {
    const clock = virtualClock()
    return { ...(await portOf(t, 'queue', clock)), clock, pass: clock.advance }
  }),
)
