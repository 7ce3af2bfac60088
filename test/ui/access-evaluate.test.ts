import { inReachOfEverybody } from './matrix.ts'
import { ofEvaluate } from './screens.ts'

await inReachOfEverybody(ofEvaluate)
