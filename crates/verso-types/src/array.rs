//! Arrays as values: elements in row-major order, and their shape where it is not the plain one.
//!
//! 1. An array without a shape has one dimension with lower bound 1, or no element at all: most arrays are so, and
//!    have nothing to store but their elements.
//! 2. A shape never describes what 1 describes, so equal arrays have equal representations.
//! 3. The lengths of a shape multiply to the number of elements.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::{TypeError, sqlstate};
use crate::value::{Value, cmp_sql};

/// The most dimensions that an array has.
pub const DIMENSIONS_MAX: usize = 6;
/// The most elements that an array has, as in PostgreSQL.
pub const ELEMENTS_MAX: usize = 134_217_727;

/// One dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// How many places it has.
    pub length: i32,
    /// The subscript of the first.
    pub lower: i32,
}

impl Dimension {
    /// The subscript of the last place.
    pub fn upper(self) -> i32 {
        self.lower.wrapping_add(self.length).wrapping_sub(1)
    }
}

/// The dimensions of an array that is not the plain one.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Shape(Box<[Dimension]>);

/// The value of an array type: one word, so that a [`Value`] stays small.
#[derive(Clone, Debug, PartialEq)]
pub struct Array(Arc<Parts>);

#[derive(Debug, PartialEq)]
struct Parts {
    values: Vec<Value>,
    shape: Option<Arc<Shape>>,
}

impl Array {
    fn of(values: Vec<Value>, shape: Option<Arc<Shape>>) -> Array {
        Array(Arc::new(Parts { values, shape }))
    }

    /// The same array in memory of its own.
    #[must_use]
    pub fn apart(&self) -> Array {
        Array::of(self.0.values.clone(), self.0.shape.clone())
    }

    /// Whether both are one and the same, without a look at the elements.
    #[must_use]
    pub fn is_same(&self, other: &Array) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// An array of these dimensions, the elements in row-major order. Without elements it has no dimension.
    /// # Errors
    /// 54000 for more dimensions or elements than there may be, or bounds beyond an integer; XX001 where the number of
    /// elements does not fit the dimensions.
    pub fn shaped(values: Vec<Value>, dimensions: &[Dimension]) -> Result<Array, TypeError> {
        check_dimensions(dimensions)?;
        let count = element_count(dimensions)?;
        if count != values.len() {
            return Err(TypeError::corrupt("dimensions of an array"));
        }
        let plain = count == 0 || matches!(dimensions, [Dimension { lower: 1, .. }]);
        let shape = (!plain).then(|| Arc::new(Shape(dimensions.into())));
        Ok(Array::of(values, shape))
    }

    /// The array of arrays of one shape, which becomes its inner dimensions; NULL counts as an array without elements.
    /// # Errors
    /// 2202E where the shapes differ, 54000 for too many dimensions.
    pub fn stacked(rows: &[Value]) -> Result<Array, TypeError> {
        let mismatch = || {
            let text = "multidimensional arrays must have array expressions with matching dimensions";
            TypeError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, text)
        };
        let array = |row: &Value| match row {
            Value::Array(array) => array.clone(),
            _ => Array::default(),
        };
        let arrays: Vec<Array> = rows.iter().map(array).collect();
        let filled = arrays.iter().find(|array| !array.is_empty());
        let Some(first) = filled else { return Ok(Array::default()) };
        let inner = first.dimensions();
        if arrays.iter().any(|array| array.dimensions() != inner) {
            return Err(mismatch());
        }
        let length = i32::try_from(rows.len()).map_err(|_| too_large())?;
        let mut dimensions = vec![Dimension { length, lower: 1 }];
        dimensions.extend(inner);
        check_dimensions(&dimensions)?;
        element_count(&dimensions)?;
        Array::shaped(arrays.iter().flat_map(|array| array.iter().cloned()).collect(), &dimensions)
    }

    /// The arrays that an aggregate or a query has collected: they become the inner dimensions.
    /// # Errors
    /// 2202E for arrays that are not alike or have no element, 22004 for a NULL among them.
    pub fn accumulated(values: Vec<Value>) -> Result<Array, TypeError> {
        let is_array = |value: &Value| matches!(value, Value::Array(_));
        if !values.iter().all(is_array) {
            return Err(TypeError::new("22004", "cannot accumulate null arrays"));
        }
        if values.iter().any(|value| matches!(value, Value::Array(array) if array.is_empty())) {
            return Err(TypeError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "cannot accumulate empty arrays"));
        }
        Array::stacked(&values).map_err(|error| match error.sqlstate {
            sqlstate::ARRAY_SUBSCRIPT_ERROR => {
                let text = "cannot accumulate arrays of different dimensionality";
                TypeError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, text)
            }
            _ => error,
        })
    }

    /// The same dimensions around other elements, which are as many.
    #[must_use]
    pub fn with_values(&self, values: Vec<Value>) -> Array {
        let shape = self.0.shape.clone().filter(|_| values.len() == self.len());
        Array::of(values, shape)
    }

    /// The dimensions, the outermost first; none of an array without elements.
    #[must_use]
    pub fn dimensions(&self) -> Vec<Dimension> {
        match &self.0.shape {
            Some(shape) => shape.0.to_vec(),
            None if self.is_empty() => Vec::new(),
            None => vec![Dimension { length: self.len() as i32, lower: 1 }],
        }
    }

    /// How many dimensions there are.
    #[must_use]
    pub fn dimension_count(&self) -> usize {
        self.0.shape.as_ref().map_or(usize::from(!self.is_empty()), |shape| shape.0.len())
    }

    /// Whether it has one dimension with lower bound 1, or no element.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.0.shape.is_none()
    }

    /// The elements of a plain array, to be changed where they stand; none of one that somebody else holds, too.
    pub fn plain_values_mut(&mut self) -> Option<&mut Vec<Value>> {
        Arc::get_mut(&mut self.0).filter(|parts| parts.shape.is_none()).map(|parts| &mut parts.values)
    }

    /// Whether somebody else holds it, too.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// The element at these subscripts, to be changed where it stands; none where there is no such place, or somebody else holds
    /// the array.
    pub fn at_mut(&mut self, subscripts: &[i32]) -> Option<&mut Value> {
        let at = match (&self.0.shape, subscripts) {
            (None, [index]) => usize::try_from(i64::from(*index) - 1).ok()?,
            _ => {
                let dimensions = self.dimensions();
                if dimensions.len() != subscripts.len() || dimensions.is_empty() {
                    return None;
                }
                offset(&dimensions, subscripts)?
            }
        };
        Arc::get_mut(&mut self.0)?.values.get_mut(at)
    }

    /// The element at these subscripts; none where there is no such place.
    #[must_use]
    pub fn at(&self, subscripts: &[i32]) -> Option<&Value> {
        if let (None, [index]) = (&self.0.shape, subscripts) {
            return self.get(usize::try_from(i64::from(*index) - 1).ok()?);
        }
        let dimensions = self.dimensions();
        if dimensions.len() != subscripts.len() || dimensions.is_empty() {
            return None;
        }
        self.get(offset(&dimensions, subscripts)?)
    }

    /// SQL's order: element by element, then by length, then by dimensions and their bounds.
    #[must_use]
    pub fn compare(&self, other: &Array) -> Ordering {
        let unequal = self.iter().zip(other.iter()).map(|(a, b)| cmp_sql(a, b)).find(|order| order.is_ne());
        unequal.unwrap_or_else(|| self.compare_shapes(other))
    }

    fn compare_shapes(&self, other: &Array) -> Ordering {
        let lengths = self.len().cmp(&other.len());
        if lengths.is_ne() || self.is_plain() && other.is_plain() {
            return lengths;
        }
        let (a, b) = (self.dimensions(), other.dimensions());
        let by = |of: fn(&Dimension) -> i32| a.iter().map(of).cmp(b.iter().map(of));
        a.len().cmp(&b.len()).then_with(|| by(|d| d.length)).then_with(|| by(|d| d.lower))
    }
}

/// Where an element stands among all; none beyond a bound.
#[must_use]
pub fn offset(dimensions: &[Dimension], subscripts: &[i32]) -> Option<usize> {
    let mut at = 0usize;
    for (dimension, subscript) in dimensions.iter().zip(subscripts) {
        let place = i64::from(*subscript) - i64::from(dimension.lower);
        if !(0..i64::from(dimension.length)).contains(&place) {
            return None;
        }
        at = at * dimension.length as usize + place as usize;
    }
    Some(at)
}

/// How many elements there are in these dimensions.
/// # Errors
/// 54000 beyond the limit.
pub fn element_count(dimensions: &[Dimension]) -> Result<usize, TypeError> {
    if dimensions.is_empty() {
        return Ok(0);
    }
    let mut count = 1usize;
    for dimension in dimensions {
        let length = usize::try_from(dimension.length).map_err(|_| too_large())?;
        count = count.checked_mul(length).filter(|count| *count <= ELEMENTS_MAX).ok_or_else(too_large)?;
    }
    Ok(count)
}

/// 54000 for more elements than there may be.
#[cold]
#[must_use]
pub fn too_large() -> TypeError {
    let text = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
    TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text)
}

/// 54000 for more dimensions than there may be.
#[cold]
#[must_use]
pub fn too_many_dimensions(count: usize) -> TypeError {
    let text = format!("number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})");
    TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text)
}

fn check_dimensions(dimensions: &[Dimension]) -> Result<(), TypeError> {
    if dimensions.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(dimensions.len()));
    }
    for dimension in dimensions {
        if dimension.lower.checked_add(dimension.length).is_none() {
            let text = format!("array lower bound is too large: {}", dimension.lower);
            return Err(TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text));
        }
    }
    Ok(())
}

impl Array {
    /// An array of one dimension whose lower bound is 0: an `int2vector` or `oidvector`.
    pub fn vector(values: impl Into<Vec<Value>>) -> Array {
        let values = values.into();
        let length = i32::try_from(values.len()).unwrap_or(i32::MAX);
        let shape = (length > 0).then(|| Arc::new(Shape([Dimension { length, lower: 0 }].into())));
        Array(Arc::new(Parts { values, shape }))
    }
}

impl Default for Array {
    fn default() -> Array {
        Array::of(Vec::new(), None)
    }
}

impl Deref for Array {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0.values
    }
}

impl From<Vec<Value>> for Array {
    fn from(values: Vec<Value>) -> Array {
        Array::of(values, None)
    }
}

impl From<&[Value]> for Array {
    fn from(values: &[Value]) -> Array {
        Array::of(values.into(), None)
    }
}

impl<const N: usize> From<[Value; N]> for Array {
    fn from(values: [Value; N]) -> Array {
        Array::of(values.into(), None)
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Array {
        Array::of(values.into_iter().collect(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[i32], dimensions: &[(i32, i32)]) -> Array {
        let dimensions: Vec<_> =
            dimensions.iter().map(|(length, lower)| Dimension { length: *length, lower: *lower }).collect();
        Array::shaped(values.iter().map(|v| Value::Int4(*v)).collect(), &dimensions).expect("a shape")
    }

    #[test]
    fn a_plain_shape_is_not_stored() {
        assert!(ints(&[1, 2], &[(2, 1)]).is_plain());
        assert_eq!(ints(&[1, 2], &[(2, 1)]), Array::from([Value::Int4(1), Value::Int4(2)]));
        assert!(!ints(&[1, 2], &[(2, 0)]).is_plain());
        assert_eq!(ints(&[], &[(0, 4), (2, 1)]), Array::default());
    }

    #[test]
    fn elements_are_found_by_their_subscripts() {
        let array = ints(&[1, 2, 3, 4, 5, 6], &[(2, 1), (3, -1)]);
        assert_eq!(array.at(&[2, 0]), Some(&Value::Int4(5)));
        assert_eq!((array.at(&[2]), array.at(&[3, 0]), array.at(&[1, -2])), (None, None, None));
        assert_eq!(Array::default().at(&[1]), None);
    }

    #[test]
    fn rows_are_stacked_if_they_are_alike() {
        let row = |values: &[i32]| Value::Array(ints(values, &[(values.len() as i32, 1)]));
        let stacked = Array::stacked(&[row(&[1, 2]), row(&[3, 4])]).expect("alike");
        assert_eq!(stacked, ints(&[1, 2, 3, 4], &[(2, 1), (2, 1)]));
        let error = Array::stacked(&[row(&[1, 2]), row(&[3])]).expect_err("not alike");
        assert_eq!(error.sqlstate, "2202E");
    }

    #[test]
    fn the_shape_decides_between_equal_elements() {
        let plain = ints(&[1, 2], &[(2, 1)]);
        assert!(plain.compare(&ints(&[1, 2], &[(2, 0)])).is_gt());
        assert!(plain.compare(&ints(&[1, 2], &[(1, 1), (2, 1)])).is_lt());
        assert!(plain.compare(&ints(&[1, 1, 9], &[(3, 1)])).is_gt());
    }
}
