import t from 'tap'
import { keysContract } from '../../contracts/keys.ts'
import { portOf } from './store.ts'

void t.test('Keys', async (t) => keysContract(t, (t) => portOf(t, 'keys')))
